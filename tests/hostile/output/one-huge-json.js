// expect: completed "went on"
// why: one item that is too long is clipped
json("x".repeat(1e7)); return "went on";
