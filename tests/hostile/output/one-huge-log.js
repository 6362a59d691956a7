// expect: completed "went on"
// why: one item that is too long is clipped
console.log("x".repeat(5e6), "y".repeat(5e6)); return "went on";
