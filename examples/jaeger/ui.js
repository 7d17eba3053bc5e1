// What ui.json does, and a link to the span beside its baseline: a template of this form
// takes an attribute's value as it is.
function UIConfig() {
  return {
    linkPatterns: [
      {
        type: 'tags',
        key: 'pyroscope.profile.url',
        url: { parameters: ['pyroscope.profile.url'], template: (data) => data['pyroscope.profile.url'] },
        text: 'Flame graph of this span',
      },
      {
        type: 'tags',
        key: 'pyroscope.profile.baseline.url',
        url: { parameters: ['pyroscope.profile.baseline.url'], template: (data) => data['pyroscope.profile.baseline.url'] },
        text: 'This span beside its baseline',
      },
    ],
  };
}
