// expect: completed
// why: deeper than 200 levels becomes a note, not a failure
// value: contains [Nested too deep]
let a = []; for (let i = 0; i < 100000; i++) a = [a]; return a;
