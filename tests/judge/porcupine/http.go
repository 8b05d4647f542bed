package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// httpClient reads and writes sections of documents of docstore-server.
type httpClient struct {
	http    http.Client
	address string
}

func newHTTPClient(address string) *httpClient {
	return &httpClient{http.Client{Timeout: timeout, Transport: &http.Transport{}}, address}
}

func (c *httpClient) do(in input) (output, error) {
	method, body := http.MethodGet, io.Reader(nil)
	if in.kind == set {
		method, body = http.MethodPut, strings.NewReader(in.value)
	}
	// Two sections per document, so that registers share a shard and its batches.
	url := fmt.Sprintf("http://%s/docs/judge%s%d/sections/s%d", c.address, os.Getenv("JUDGE_PREFIX"), in.key/2, in.key%2)
	request, err := http.NewRequest(method, url, body)
	if err != nil {
		return output{}, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return output{}, err
	}
	defer response.Body.Close()
	value, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return output{}, err
	case in.kind == set && (response.StatusCode == 201 || response.StatusCode == 204):
		return output{}, nil
	case in.kind == get && response.StatusCode == 404:
		return output{}, nil
	case in.kind == get && response.StatusCode == 200:
		return output{value: string(value)}, nil
	}
	return output{}, fmt.Errorf("status %d", response.StatusCode)
}
