// expect: completed {"a": 1}
JSON.stringify = () => "[\"forged\"]"; JSON.parse = () => "forged";
/* half-way */ return await tools.echo({ value: { a: 1 } });
