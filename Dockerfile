# codemode as a service: `docker build -t codemode .`, then see docs/deployment.md.
# Two stages: the first has the compiler that comes from the package index, the second only what runs.
FROM python:3.13-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM python:3.13-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[mcp,postgres,web]" && rm -rf /wheels \
    && useradd --create-home --uid 10001 codemode \
    && mkdir /data && chown codemode /data
# not root: workers confine themselves without any capability, and `codemode doctor` tells which layers hold
USER codemode
WORKDIR /data
VOLUME /data
# compiled code is made once and kept; a read-only image can keep it in the volume
ENV XDG_CACHE_HOME=/data/.cache
RUN codemode doctor || true
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=10s CMD ["codemode", "doctor", "--json"]
ENTRYPOINT ["codemode"]
CMD ["serve", "--mcp", "--http", "0.0.0.0:8000", "--store", "/data/runs.sqlite"]
