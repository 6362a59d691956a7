// expect: failed timeout
// with: timeoutMs=100
// why: the engine compares each name with all before it
return JSON.stringify({}, Array.from({ length: 200000 }, (_, i) => "k" + i));
