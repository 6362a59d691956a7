// expect: completed 1
// with: straight
#!/usr/bin/env node
return 1;
