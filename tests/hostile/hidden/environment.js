// expect: completed [false, false]
return [typeof process !== "undefined", typeof Deno !== "undefined"];
