// expect: failed invalid_input
// with: escaped
// calls: []
// why: nothing behind a zero byte may be cut off or run unseen
return 1; <U+0000> await tools.echo({ value: 1 });
