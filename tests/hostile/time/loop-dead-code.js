// expect: completed "fine"
return "fine"; for (;;);
