// expect: completed {"value": 1, "lossy": [{"path": "$", "kind": "x"}]}
return { value: 1, lossy: [{ path: "$", kind: "x" }] };
