# The image of all services. `docker build -t millrace .` compiles the programs in the image. If build/image contains
# compiled programs (millrace, millrace-engine and millrace-jail-init from Debian 12), they are used instead, with the
# speech engine in build/image/speech if it is there.
# The packages are the current ones of Debian, so two builds of the same sources can differ in their libraries.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS programs
# The index of Python packages from which the speech engine is fetched; empty: pip's own.
ARG PIP_INDEX_URL=
WORKDIR /src
COPY LICENSE ./
COPY packaging/speech-engine.txt packaging/speech-model.txt packaging/
COPY scripts/setup scripts/fetch-speech scripts/
COPY scripts/setup build/imag[e] /early/
RUN [ -x /early/millrace ] || scripts/setup run
COPY . .
RUN set -eu; \
    if [ -x /early/millrace ]; then from=/early speech=/early/speech; else from=build/release speech=build/speech; \
      scripts/build release millrace millrace-engine millrace-jail-init; \
      strip "$from/millrace" "$from/millrace-engine" "$from/millrace-jail-init"; fi; \
    install -D -t /programs "$from/millrace" "$from/millrace-engine" "$from/millrace-jail-init" \
      deploy/entrypoint deploy/healthy; \
    if [ -d "$speech" ]; then cp -r "$speech" /programs/speech; rm -rf /programs/speech/include; chmod -R a+rX /programs/speech; fi

FROM ${BASE}
# Languages for OCR, in the format of ocr.languages: "eng,deu". English is always installed.
ARG OCR_LANGUAGES=eng
# The libraries that `ldd` reports (checked below) and libpq5 for store.url, then programs and data files. Only OpenSSH's
# client is installed: the port of an sshd in a container would not be reachable.
# ffmpeg's screen output (SDL) installs GPU drivers and a compiler, 160 MB that are not used. They are removed.
RUN set -eu; \
    apt-get update -qq; \
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 \
      libcurl4 libedit2 libflite1 libjemalloc2 liblept5 libpistache0 libpocketsphinx3 libpq5 libprometheus-cpp-core1.0 libqpdf29 \
      librdkafka1 libseccomp2 libsimdjson14 libsndfile1 libsphinxbase3 libsqlite3-0 libssl3 libtesseract5 \
      libvo-aacenc0 libyaml-cpp0.7 \
      bubblewrap ca-certificates curl ffmpeg openssh-client pocketsphinx-en-us poppler-data poppler-utils \
      tesseract-ocr-eng $(echo "$OCR_LANGUAGES" | tr '_,+' '-  ' | xargs -n 1 printf 'tesseract-ocr-%s ') tini >/dev/null; \
    rm -rf /usr/lib/*/dri /usr/lib/*/libLLVM* /usr/lib/*/libz3* /usr/lib/*/mfx \
      /usr/share/doc /usr/share/man /usr/share/locale /var/cache/apt /var/lib/apt/lists/* \
      /var/log/*.log /var/log/apt; \
    groupadd --gid 10001 millrace; \
    useradd --uid 10001 --gid millrace --home-dir /var/lib/millrace --shell /usr/sbin/nologin millrace; \
    install -d -m 0700 -o millrace -g millrace /var/lib/millrace /var/lib/millrace-secrets; \
    install -d -m 0755 -o millrace -g millrace /run/millrace /var/lib/observer /etc/millrace
COPY --from=programs /programs/ /usr/lib/millrace/
RUN set -eu; \
    ln -s ../lib/millrace/millrace /usr/bin/millrace; \
    if find /usr/lib/millrace -name millrace -o -name millrace-engine -o -name '*.so' | xargs ldd | grep 'not found'; then exit 1; fi; \
    millrace --version; ffmpeg -hide_banner -loglevel error -version >/dev/null

ARG VERSION=dev
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Millrace" \
      org.opencontainers.image.description="Self-hosted compute and AI gateway with a durable job queue" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"

# The gateway listens on all interfaces of the container. Publish the port only where clients may reach it.
ENV MILLRACE_DATA=/var/lib/millrace MILLRACE_LISTEN=0.0.0.0:8080 MILLRACE_READY_FILE=/run/millrace/ready
USER millrace
WORKDIR /var/lib/millrace
VOLUME /var/lib/millrace
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s --retries=3 CMD ["/usr/lib/millrace/healthy"]
ENTRYPOINT ["/usr/bin/tini", "--", "/usr/lib/millrace/entrypoint"]
CMD ["serve"]
