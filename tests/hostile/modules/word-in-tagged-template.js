// expect: completed "import x"
const tag = (s) => s.raw[0]; return tag`import x`;
