"""Operations of tests on a running broker over HTTP, where `serve --control` allows them: JSON over Starlette."""
