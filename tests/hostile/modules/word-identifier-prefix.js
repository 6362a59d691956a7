// expect: completed 3
const important = 1, exporter = 2; return important + exporter;
