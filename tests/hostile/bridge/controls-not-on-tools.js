// expect: completed [false, false, false]
return ["exec", "wait", "tool_call"].map((n) => n in tools);
