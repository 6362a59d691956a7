// expect: completed "import"
type K = "import" | "require"; const k: K = "import"; return k;
