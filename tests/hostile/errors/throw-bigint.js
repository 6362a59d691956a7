// expect: failed guest_error
throw 10n;
