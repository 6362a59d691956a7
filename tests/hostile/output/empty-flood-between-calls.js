// expect: failed output_limit_exceeded
// with: maxOutputBytes=1024
// why: each batch is small enough to cross; together they are more items than a result may have
for (let k = 0; k < 50; k++) {
  for (let i = 0; i < 500; i++) text("");
  await tools.echo({ value: k });
}
