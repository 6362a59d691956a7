// expect: failed invalid_input
})(); text("outside"); (async () => {
