// expect: completed null
// output: ["\u001b]0;owned\u0007\u001b[2J"]
text("\x1b]0;owned\x07\x1b[2J");
