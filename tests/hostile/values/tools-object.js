// expect: completed
// value: contains [Function echo]
return tools;
