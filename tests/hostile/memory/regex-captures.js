// expect: failed guest_error
// with: memoryLimitBytes=8388608
return new RegExp("(".repeat(60000) + "a" + ")".repeat(60000)).exec("a").length;
