// expect: completed 200000
return eval("0" + "+1".repeat(200000));
