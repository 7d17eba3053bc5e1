// Copyright The spanprof Authors
// SPDX-License-Identifier: Apache-2.0

package wire

// otlp has the sizes of the generated structs. AnyValue includes the value in it. The
// sizes of ResourceProfiles, KeyValue and Profile include what the receiver makes of them.
const otlp = `
Request 72 1=ResourceProfiles 2=Dictionary
ResourceProfiles 200 1=Resource 2=ScopeProfiles
Resource 96 1=KeyValue 3=EntityRef
KeyValue 250 2=AnyValue
AnyValue 80 5=ArrayValue 6=KeyValueList
ArrayValue 64 1=AnyValue
KeyValueList 64 1=KeyValue
EntityRef 120
ScopeProfiles 88 1=Scope 2=Profile
Scope 104 3=KeyValue
Profile 4096 1=ValueType 2=Sample 5=ValueType 11=numbers
ValueType 48
Sample 128 2=numbers 4=numbers
Dictionary 208 1=Mapping 2=Location 3=Function 4=Link 6=KeyValueAndUnit 7=Stack
Mapping 96 5=numbers
Location 104 3=Line 4=numbers
Line 64
Function 64
Link 88
KeyValueAndUnit 120 2=AnyValue
Stack 64 1=numbers`

// pprof has the sizes of the structs of google/pprof with their places in its tables by
// id. A Label is mostly its share of three maps. Location ids become pointers too.
const pprof = `
Profile 400 1=ValueType 2=Sample 3=Mapping 4=Location 5=Function 11=ValueType 13=comments
ValueType 48
Sample 128 1=ids 2=numbers 3=Label
Label 500
Mapping 152
Location 104 4=Line
Line 40
Function 136`
