// expect: completed 1
exporting: for (;;) break exporting; return 1;
