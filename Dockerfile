# The broker in a container: data in /data, listening on all interfaces at 9092, not as root.
#
#   docker build -t barnabas . && docker run -p 9092:9092 -v barnabas:/data barnabas
ARG BASE=python:3.13-slim
FROM ${BASE} AS build
COPY requirements/build.txt requirements/serve.txt /src/requirements/
RUN python3 -m venv /opt/barnabas \
    && /opt/barnabas/bin/pip install --no-cache-dir --require-hashes --no-build-isolation -r /src/requirements/build.txt \
    && /opt/barnabas/bin/pip install --no-cache-dir --require-hashes --no-build-isolation -r /src/requirements/serve.txt
COPY pyproject.toml README.md LICENSE /src/
COPY protocol /src/protocol
COPY storage /src/storage
COPY client /src/client
COPY broker /src/broker
COPY barnabas /src/barnabas
COPY pyspark_barnabas /src/pyspark_barnabas
RUN /opt/barnabas/bin/pip install --no-cache-dir --no-deps --no-build-isolation /src

FROM ${BASE}
RUN useradd --uid 1000 --no-create-home --user-group barnabas && install -d -o barnabas -g barnabas /data
COPY --from=build /opt/barnabas /opt/barnabas
ENV PATH=/opt/barnabas/bin:${PATH} PYTHONUNBUFFERED=1
USER barnabas
VOLUME /data
EXPOSE 9092
STOPSIGNAL SIGTERM
ENTRYPOINT ["barnabas", "serve", "--host", "0.0.0.0", "--data-dir", "/data"]
