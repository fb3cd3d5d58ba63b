# The compiler runs on the builder's own processor and builds for the image's.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=development COMMIT DATE TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags "-s -w \
    -X github.com/chattray/chattray/app.release=$VERSION \
    -X github.com/chattray/chattray/app.commit=$COMMIT \
    -X github.com/chattray/chattray/app.commitDate=$DATE" -o /out/chattray . \
 && mkdir /out/data /out/tmp

# The program, certificates, and two folders that it may write to.
FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build --chown=65532:65532 /out/data /data
COPY --from=build --chown=65532:65532 /out/tmp /tmp
COPY --from=build /out/chattray /chattray
USER 65532:65532
# The address is reachable from outside the container, so the service starts only if
# authentication is configured.
ENV CHATTRAY_ADDR=0.0.0.0:8080 CHATTRAY_DATABASE_URL=sqlite:/data/chattray.db
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["/chattray", "healthcheck"]
ENTRYPOINT ["/chattray"]
CMD ["serve"]
