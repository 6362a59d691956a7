// expect: failed guest_error
throw new Error("\ud800 broken");
