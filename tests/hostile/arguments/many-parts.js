// expect: completed "invalid_arguments: the input is JSON made of more than 250,000 parts: lists, objects, keys, strings and numbers"
// why: making half a million empty lists held up the host for seconds
return await tools.echo({ value: Array.from({ length: 500000 }, () => []) }).catch((e) => `${e.code}: ${e.message}`);
