// expect: failed guest_error
throw { get name() { throw 1; }, get message() { throw 2; }, get stack() { throw 3; } };
