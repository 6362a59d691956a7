// expect: failed invalid_input
return new URL("https://h").#record;
