// expect: completed ["[Symbol a]", "[Symbol]"]
return [Symbol("a"), Symbol()];
