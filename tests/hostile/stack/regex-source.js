// expect: failed guest_error
return new RegExp("(?:".repeat(200000) + ")".repeat(200000)).test("");
