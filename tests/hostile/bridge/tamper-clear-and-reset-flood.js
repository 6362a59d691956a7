// expect: failed output_limit_exceeded
// why: messages have a cap of their own, or a program could fill the host with them
for (let i = 0; i < 30000; i++) clearTimeout(setTimeout(() => {}, 1000));
