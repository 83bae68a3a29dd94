# The broker in a container, as a replacement for apache/kafka: docs/container.md.
#
#   docker build -t barnabas . && docker run -p 9092:9092 -v barnabas:/data barnabas
ARG BASE=python:3.13-slim

FROM ${BASE} AS dependencies
COPY requirements/build.txt requirements/serve.txt /src/requirements/
# Packages without a wheel are built in this stage, which is not part of the image. Of zstandard's two forms
# only the one for CPython is used; the other is as large as Python's own library.
RUN python3 -m venv /build \
    && /build/bin/pip install --no-cache-dir --require-hashes --no-build-isolation -r /src/requirements/build.txt \
    && /build/bin/pip wheel --no-cache-dir --require-hashes --no-build-isolation --wheel-dir /wheels \
        -r /src/requirements/serve.txt \
    && python3 -m venv --without-pip /opt/barnabas \
    && /build/bin/pip --python /opt/barnabas/bin/python3 install --no-cache-dir --no-index --no-deps /wheels/*.whl \
    && rm -f /opt/barnabas/lib/python3*/site-packages/zstandard/_cffi*

FROM dependencies AS application
# FORM=pure builds without a compiler, OPTIMIZATION=0 in little more than half the time: docs/container.md.
ARG FORM=compiled
ARG OPTIMIZATION=2
COPY docker/install-compiler requirements/compile.txt /src/requirements/
RUN if [ "${FORM}" = compiled ]; then \
        sh /src/requirements/install-compiler \
        && /build/bin/pip install --no-cache-dir --require-hashes --no-build-isolation \
            -r /src/requirements/compile.txt; \
    fi
COPY pyproject.toml README.md LICENSE /src/
COPY protocol /src/protocol
COPY logfiles /src/logfiles
COPY registry /src/registry
COPY storage /src/storage
COPY client /src/client
COPY broker /src/broker
COPY barnabas /src/barnabas
COPY scripts/_compile.py scripts/_compiled_wheel.py /src/scripts/
RUN if [ "${FORM}" = compiled ]; then \
        /build/bin/python /src/scripts/_compile.py "${OPTIMIZATION}" && export HATCH_BUILD_HOOK_ENABLE_CUSTOM=true; \
    fi \
    && /build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels/application /src \
    && /build/bin/pip --python /opt/barnabas/bin/python3 install --no-cache-dir --no-index --no-deps \
        --target /application /wheels/application/*.whl

FROM ${BASE}
RUN useradd --uid 1000 --create-home --user-group barnabas \
    && install -d -o barnabas -g barnabas /data /var/lib/kafka/data /tmp/kraft-combined-logs /etc/confluent/docker \
        /data.security /var/lib/kafka/data.security /bitnami/kafka \
    && install -d /opt/bitnami/scripts/kafka /opt/kafka/bin /mnt/shared/config /etc/kafka/docker \
    && ln -s /opt/kafka /opt/bitnami/kafka \
    && ln -s /etc/kafka/docker/run /opt/bitnami/scripts/kafka/run.sh
COPY --from=dependencies /opt/barnabas /opt/barnabas
COPY docker/run docker/healthcheck docker/server.properties docker/bitnami.properties /etc/kafka/docker/
COPY docker/kafka-tool /opt/kafka/bin/
COPY --chown=barnabas:barnabas docker/confluent /etc/confluent/docker
COPY --from=application /application /opt/barnabas/application
ENV PATH=/opt/barnabas/application/bin:/opt/barnabas/bin:/opt/kafka/bin:${PATH} \
    PYTHONPATH=/opt/barnabas/application \
    PYTHONUNBUFFERED=1 \
    BARNABAS_CONTAINER=1
RUN for tool in $(python3 -m barnabas.broker.cli.kafka --names); do \
        ln -s kafka-tool "/opt/kafka/bin/$tool.sh" && ln -s kafka-tool "/opt/kafka/bin/$tool" || exit 1; \
    done
USER 1000:1000
WORKDIR /home/barnabas
VOLUME /data
EXPOSE 9092 9404
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=2s --timeout=5s --retries=5 CMD ["/etc/kafka/docker/healthcheck"]
CMD ["/etc/kafka/docker/run"]
