// expect: failed guest_error
return JSON.parse("[".repeat(200000) + "]".repeat(200000)).length;
