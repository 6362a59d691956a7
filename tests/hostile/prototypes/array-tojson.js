// expect: completed {"a": "mine"}
Array.prototype.toJSON = () => "mine"; return { a: [1, 2] };
