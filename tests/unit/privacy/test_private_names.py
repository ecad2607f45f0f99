"""Names of private files, and names of usual project files, which are readable."""

from __future__ import annotations

import pytest

from adacoder.privacy.private_names import Wishes, privacy_reason

_PRIVATE = """
.env .env.local .env.production .env.prod.local .env.staging .env.test .env-prod .env_backup .ENV prod.env
deploy/app.env .envrc .flaskenv env.local env.production .envs/.production/.django .envs/.local/.postgres
.envs/prod/django .direnv/flake-profile.rc config/.env.vault .env~ .env.bak .env.old .env.swp .env.save #.env# .#.env
.env.1 .env.gz .env.20240131 .env.copy .env.orig secrets.yml secrets.yaml secrets.json secrets.toml SECRETS.ini
.secrets .secrets.toml config/secrets.yml.enc app-secrets.yaml secret.yaml secret.json values-secret.yaml
values.secret.prod.yaml my-secret.yml k8s/db-secret.yaml secrets-prod.json secret.txt secrets/db_password secrets/prod
secrets/nested/deep/token.bin secret/api docker-secrets/pg run/secrets/x secrets/tls.crt credentials credentials.json
credentials.csv credentials.yml.enc aws_credentials db-credentials.yaml credentials_gcp.json creds.json .credentials
.credentials.json my_creds.txt credentials/google.json prod-credentials/db credentials.db credentials.pickle
db_password db_password.txt password.txt passwords.txt passwords.xlsx password.json admin-password root_password.prod
passwd .passwd my.password smtp.pass db_pass vault_passphrase.txt passphrase.txt passwords.csv passwords.md
logins.json api_key api_key.txt apikey.txt apiKey.json api-keys.yaml openai_api_key.txt google-api-key.json .api_key
.apikey api_keys.txt gcp-key.json gcloud-key.json sa-key.json service-account.json service_account_prod.json
my-service-account-key.json google_key.json firebase-adminsdk-abc12.json acme-firebase-adminsdk-x1.json
client_secret_123.apps.googleusercontent.com.json client_secrets.json application_default_credentials.json
accessTokens.json azureProfile.json msal_token_cache.bin prod.publishsettings key.json gcp.json token token.json
token.txt token.pickle access_token.txt refresh-token.json bot_token.txt slack-token .slack-token discord.token
hf_token github_token.txt auth_token.json oauth-tokens.json telegram.session anon.session .token gitlab-token.yml
terraform.tfvars prod.auto.tfvars vars.tfvars.json terraform.tfstate terraform.tfstate.backup
terraform.tfstate.1700000000.backup .terraform/terraform.tfstate .terraformrc terraform.rc credentials.tfrc.json
prod.tfbackend Pulumi.prod.yaml .pulumi/credentials.json kubeconfig kubeconfig.yaml prod.kubeconfig
prod-kubeconfig.yml kube_config_cluster.yml .kube/config admin.conf k3s.yaml talosconfig docker-compose.override.yml
docker-compose.override.yaml compose.override.yml docker-compose.prod.yml .docker/config.json .dockercfg
.dockerconfigjson .vault_pass .vault_pass.txt vault_pass.sh vault-password .vault-token vault.yml
group_vars/prod/vault.yml .ansible_vault_pass ansible_vault.txt encrypted_data_bag_secret knife.rb
keys/private_key.pkcs7.pem secret.eyaml .pgpass pgpass.conf .pg_service.conf .my.cnf my.cnf .mylogin.cnf .mongorc.js
db_dump.sql dump.sql.gz prod-backup.sql prod.dump .npmrc .yarnrc.yml .pypirc pip.conf .gem/credentials
.cargo/credentials.toml .cargo/credentials NuGet.Config .m2/settings.xml maven/settings.xml settings-security.xml
gradle.properties local.properties keystore.properties auth.json .composer/auth.json .netrc _netrc .authinfo
.git-credentials .gitconfig .git/config .hg/hgrc .svn/entries .bundle/config server.pem server.key cert.p12 cert.pfx
store.jks release.keystore key.p8 private.asc secring.gpg backup.gpg priv.ppk office.ovpn vault.kdbx vault.kdb
my.agekey age/keys.txt .config/sops/age/keys.txt id_rsa id_rsa.old id_ed25519 id_ecdsa_sk deploy_rsa github_ed25519
ssh_host_rsa_key ssh_host_ed25519_key identity private.key jwt-private-key.txt private_key private-key.json
signing_key.bin master.key encryption_key django_secret_key.txt secret_key secret_key_base wg0.conf krb5.keytab
wpa_supplicant.conf ipsec.secrets chap-secrets .bash_history .zsh_history .python_history .psql_history .mysql_history
.sqlite_history .rediscli_history .node_repl_history .bashrc .zshrc .profile .viminfo .lesshst .ssh/config
.gnupg/pubring.kbx .aws/config .azure/azureProfile.json .config/gcloud/x.db .config/gh/hosts.yml gh/hosts.yml
.config/hub .oci/config .boto .s3cfg .rclone.conf rclone.conf .passwd-s3fs clouds.yaml openrc.sh acme-openrc.sh
.databrickscfg .kaggle/kaggle.json kaggle.json .huggingface/token .streamlit/secrets.toml
.jupyter/jupyter_server_config.json .password-store/web/mail.gpg profiles.yml wallet.dat wallet.json mnemonic.txt
seed-phrase.txt keypair.json id-keypair.json UTC--2024-01-01--abc keystore/UTC--x cookies.txt cookies.sqlite
cookies.json www.acme.org_cookies.txt Cookies key4.db trace.har shadow shadow- htpasswd .htpasswd site.htpasswd
gshadow .idea/dataSources.xml .idea/dataSources.local.xml .idea/workspace.xml dbeaver-data-sources.xml
.vscode/sftp.json sftp-config.json sitemanager.xml recentservers.xml filezilla.xml wp-config.php wp-config.php.bak
LocalSettings.php config.inc.php configuration.php database.yml config/database.yml application-prod.properties
application-prod.yml application.properties appsettings.json appsettings.Production.json local.settings.json
connectionStrings.config web.config parameters.yml local_settings.ini settings.local.json config.local.yaml
google-services.json GoogleService-Info.plist airflow.cfg zappa_settings.json connection_string.txt .mcp.json
.secret_key jwt.secret jwt_secret.txt flask_secret tls.key rootkey.csv accessKeys.csv new_user_credentials.csv
AuthKey_AB12.p8 mycreds.txt dbpassword.txt .smbcredentials sshkey privkey.txt deploy_key serviceAccountKey.json
gha-creds-12ab.json oauth.json .clasprc.json nodekey priv_validator_key.json bitwarden_export.json database.ini
secrets.sh secrets.js credentials.tf arduino_secrets.h set_password.sh tfplan openvpn/auth.txt web.Release.config
kube/config smb.cred prod.ejson private_keys/a api_keys/openai ssh-keys/bob signing_keys/x sealed-secrets/a.yaml
.secrets/x .private_keys/x credentials.py.bak secrets.tar.gz id_rsa.zip
.claude.json .claude/.credentials.json .claude/settings.local.json .codex/auth.json .codex/config.toml .gemini/.env
.gemini/oauth_creds.json .gemini/settings.json .ollama/id_ed25519 .cache/huggingface/token .config/claude/x.json
.config/github-copilot/apps.json .cursor/mcp.json .continue/config.yaml .qwen/oauth_creds.json .opencode/auth.json
.local/share/opencode/auth.json .zed/settings.json .dev.vars .dev.vars.production .config/llm/keys.json ngrok.yml
.config/rclone/rclone.conf .config/railway/config.json .config/himalaya/config.toml .config/msmtp/config vault.1pif
.circleci/cli.yml .config/argocd/config .subversion/auth/svn.simple/x .idea/deployment.xml fastlane/Appfile .histfile
.config/solana/id.json .runpod/config.toml .wrangler/config/default.toml .config/snyk/x.json .netlify/state.json
.jenkins/credentials.xml hudson.util.Secret dbconfig.json .pgclirc .lftprc .pydistutils.cfg otr.private_key disk.bek
"""
PRIVATE = [
    *_PRIVATE.split(),
    ".env (1)",
    "credentials copy.json",
    "Login Data",
    "copy of id_rsa",
    "credentials - Copy.json",
    ".env (copy)",
]
"""Files in which well-known programs store a key, a password or a session, and usual copies of such files."""

_READABLE = """
main.py secrets.py credentials.py secrets/__init__.py secrets/store.py credentials/models.pyi tokens/bpe.py keys.py
conftest.py auth.py token.py password.py settings.py local_settings.py .envs/tasks.py _secrets.so private_key.py
env.py pkg/keyring.py id_rsa.py .env.example .env.sample .env.template .env.dist env.example example.env
.env.example.local secrets.example.yaml credentials.sample.json terraform.tfvars.example secrets.yml.j2
password.txt.example sample.pem key.template.json secrets/README.sample tokenizer.json tokenizer_config.json
special_tokens_map.json added_tokens.json tokens.txt tokens.csv vocab.txt merges.txt tokens.json eos_token.txt
mask_token.json special_token.txt pad_token.json stop_tokens.json design-tokens.json password_strength_words.txt
common-passwords.txt common_passwords.txt.gz top-1000-passwords.txt weak_passwords.csv password_policy.json
password_rules.yaml password_reset.html password-schema.json password_change_form.html leaked_passwords.txt
password.js the_secret_garden.txt secret_santa.txt secret_santa.json secret-agent.txt secret_history_of_rome.txt
secretary.json keyboard.json key_value.json keymap.json keywords.txt monkey.txt turkey.csv keys.txt key_metrics.csv
hockey.json keyframes.json public_key.json public-key.txt id_rsa.pub foreign_key.json primary_key.txt answer_key.txt
answer-key.json sort_key.json hotkey.json shortcut-key.json music_key.txt legend_key.csv cacert.pem ca-bundle.crt
server.crt server.csr chain.cer known_hosts authorized_keys data.json data.csv data.db data.sqlite3 schema.sql
migrations/0001.sql seed.sql fixtures/users.json test_data.json index.json README.md CHANGELOG.md LICENSE Makefile
Dockerfile docker-compose.yml compose.yaml Procfile pyproject.toml setup.cfg setup.py tox.ini requirements.txt
requirements-dev.txt poetry.lock uv.lock Pipfile Pipfile.lock MANIFEST.in package.json tsconfig.json mkdocs.yml
noxfile.py pytest.ini mypy.ini .coveragerc .gitignore .gitattributes .gitmodules .editorconfig .dockerignore
.pre-commit-config.yaml .readthedocs.yaml .github/workflows/ci.yml .gitlab-ci.yml .travis.yml .flake8 .pylintrc
.python-version .tool-versions codecov.yml config.json config.yaml config.toml settings.yaml settings.toml
logging.conf alembic.ini gunicorn.conf.py environment.yml environment.txt settings.json .vscode/settings.json
.vscode/launch.json .idea/modules.xml .devcontainer/devcontainer.json static/js/auth.js templates/login.html
locale/de.po docs/conf.py docs/index.rst notebook.ipynb model.onnx weights.bin image.png passenger.csv compass.json
bypass.txt password_hasher.py passthrough.json boarding_pass.json stopwords.txt envelope.json environment.json
history.txt history.csv session.json sessions.csv account.json accounts.csv users.json login.html identity.json
wallets.csv cookies.py cookies.html cookie_policy.txt certificate.json certs/ca.crt vault.py vaults.json shadow.png
shadows.json proxy.json token_counts_by_word.txt access.log access_patterns.json secretion.csv credit.csv
creditors.json main.tf variables.tf values.yaml Chart.yaml Pulumi.yaml ansible.cfg playbook.yml inventory.ini
group_vars/all.yml nginx.conf redis.conf serverless.yml template.yaml samconfig.toml cdk.json cdk.context.json
.claude/settings.json .claude/agents/a.md .cursor/rules/a.mdc .gemini/GEMINI.md .codex/prompts/a.md AGENTS.md CLAUDE.md
.continue/rules/a.md .zed/tasks.json .secrets.baseline .gitleaks.toml .streamlit/config.toml .sops.yaml apps.json
hosts.json state.json id.json mcp_server.py tests/data/tokens.json .ipynb_checkpoints/a-checkpoint.ipynb netplan.yaml
buildspec.yml firebase.json vercel.json netlify.toml x/config.json hosts.yml keystore.md.example config/routes.yml
"""
READABLE = _READABLE.split()
"""Files of well-known projects that examples may need."""


def test_there_are_as_many_as_it_takes() -> None:
    assert len(set(PRIVATE)) >= 200
    assert len(set(READABLE)) >= 150


@pytest.mark.parametrize("name", PRIVATE)
def test_it_is_private(name: str) -> None:
    assert privacy_reason(name.split("/"))


@pytest.mark.parametrize("name", READABLE)
def test_it_stays_readable(name: str) -> None:
    assert privacy_reason(name.split("/")) is None


@pytest.mark.parametrize("name", ["app/.env", "x/Secrets.YAML", "deploy/keys/ID_RSA", "a/b/c/secrets/d"])
def test_letters_and_depth_make_no_difference(name: str) -> None:
    assert privacy_reason(name.split("/"))


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.csv", "data/people.csv", True),
        ("people.csv", "data/people.csv", True),
        ("data/*.csv", "data/people.csv", True),
        ("./data/", "data/people.csv", True),
        ("data", "data/deep/people.csv", True),
        ("DATA", "data/people.csv", True),
        ("data/deep", "data/deep/people.csv", True),
        ("**/people.*", "people.csv", True),
        ("deep/people.csv", "data/deep/people.csv", False),
        ("people", "data/people.csv", False),
        ("dat", "data/people.csv", False),
    ],
)
def test_wishes_name_files_and_folders(pattern: str, path: str, fits: bool) -> None:
    parts = path.split("/")
    assert Wishes(hide=(pattern,)).hides(parts) is fits
    assert Wishes(show=(pattern,)).shows(parts) is fits
    assert not Wishes().hides(parts)
