// expect: completed {"name": "TypeError", "message": "m"}
return new TypeError("m");
