// Links of ui.json's kind, and those that it cannot have: a template of this form takes an
// attribute's value unchanged.
function UIConfig() {
  const attribute = (key, text) => ({ type: 'tags', key, url: { parameters: [key], template: (data) => data[key] }, text });
  return {
    linkPatterns: [
      attribute('pyroscope.profile.url', 'Flame graph of this span'),
      attribute('pyroscope.profile.baseline.url', 'This span beside its baseline'),
      attribute('pyroscope.profile.diff.url', 'This span less its baseline'),
      { type: 'traces', url: 'http://127.0.0.1:4040/?trace=#{traceID}', text: "Flame graphs of this trace's spans" },
    ],
  };
}
