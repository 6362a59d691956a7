// expect: completed null
// output: ["\ufffd", "\ufffd"]
text("\ud83d"); text("\ude00");
