// expect: completed "});"
return `});`;
