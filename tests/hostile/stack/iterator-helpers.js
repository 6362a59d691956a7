// expect: failed guest_error
// error: RangeError
let it = [1].values(); for (let i = 0; i < 60000; i++) it = it.take(5); return [...it];
