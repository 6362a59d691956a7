// expect: completed [1]
return Object.assign([1], { extra: 2 });
