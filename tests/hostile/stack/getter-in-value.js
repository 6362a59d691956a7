// expect: completed {"x": "[Threw: Maximum call stack size exceeded]"}
return { get x() { return (function f() { f(); })(); } };
