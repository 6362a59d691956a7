// expect: completed "caught"
return await Promise.all([Promise.reject(1), Promise.reject(2)]).catch(() => "caught");
