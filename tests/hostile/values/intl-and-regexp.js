// expect: completed "/a\\/b/gi"
return /a\/b/gi;
