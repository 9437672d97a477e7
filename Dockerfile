# docker build --tag claimcheck:0.1.0.dev0 .
# The digest is that of the index, which has the image of every architecture.
ARG PYTHON=python:3.11.14-slim-bookworm@sha256:65a93d69fa75478d554f4ad27c85c1e69fa184956261b4301ebaf6dbb0a3543d

FROM ${PYTHON} AS build
WORKDIR /src
# Everything comes from the lock file, hashes checked; of that the product takes what it needs.
COPY requirements.lock .
RUN pip wheel --no-cache-dir --no-deps --require-hashes --wheel-dir /wheels --requirement requirements.lock
COPY . .
RUN python -m venv /build \
 && /build/bin/pip install --no-cache-dir --upgrade --no-index --find-links /wheels setuptools pip \
 && /build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels . \
 && python -m venv --without-pip /opt/claimcheck \
 && /build/bin/pip --python /opt/claimcheck install --no-cache-dir --no-index --find-links /wheels "claimcheck-dra[node-plugin]"

FROM ${PYTHON}
COPY --from=build /opt/claimcheck /opt/claimcheck
ENV PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
ENTRYPOINT ["/opt/claimcheck/bin/claimcheck"]
