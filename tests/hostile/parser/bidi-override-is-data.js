// expect: completed "\u202e\u2066"
// with: escaped
return "<U+202E><U+2066>";
