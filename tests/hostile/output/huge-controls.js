// expect: completed "went on"
// why: what is small as text and large as JSON is clipped by its JSON
text("\u0001".repeat(1e5)); json("\u0001\ud800".repeat(1e5)); return "went on";
