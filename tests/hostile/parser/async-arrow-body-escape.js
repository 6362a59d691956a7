// expect: failed invalid_input
return async () => { }); text("x"); (() => {
